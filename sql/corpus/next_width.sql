-- How many task numbers the next range takes, so that it takes about a second.
--
-- Called by   the bodies of kind populate_report

create or replace function corpus.next_width(width bigint, took interval)
returns bigint
language plpgsql
immutable
set search_path = ''
as $$
begin
    return greatest(
        100,
        least(
            next_width.width * 4,
            (next_width.width * 1.2 / greatest(extract(epoch from next_width.took), 0.001))::bigint
        )
    );
end;
$$;

comment on function corpus.next_width(bigint, interval) is
'How many task numbers the next range of a count takes, so that it takes about a second.';
