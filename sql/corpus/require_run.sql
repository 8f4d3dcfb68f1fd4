-- The run of this number, while it is counting.
--
-- Raises      55000 it is finished or dropped, or there is none
-- Locks       the run until commit, so that what its ranges leave is not cleared away before they are through

create or replace function corpus.require_run(run integer)
returns corpus.run
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_run corpus.run;
begin
    select r.* into v_run
    from corpus.run as r
    where r.id = require_run.run
        and r.state = 'counting'
        and r.cluster = (select s.system_identifier from pg_control_system() as s)
    for key share;
    if not found then
        raise exception 'run % is not counting any more', require_run.run
            using errcode = '55000', hint = 'Somebody else counts this slice; begin again.';
    end if;
    return v_run;
end;
$$;

comment on function corpus.require_run(integer) is
'The run of this number, or an error if it is not counting.';
