-- A lease is a number of four bytes, as the key of an advisory lock must be. After two thousand million
-- registrations the numbers begin again, instead of coming to an end.

alter table cortex.runner alter column lease set cycle;
