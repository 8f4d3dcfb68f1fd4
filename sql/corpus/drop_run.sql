-- Give a run up that is not to be finished.
--
-- Called by   the bodies of kind populate_report, when one fails or is cancelled
-- Returns     whether it was counting

create or replace function corpus.drop_run(run integer)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    update corpus.run as r
    set state = 'dropped'
    where r.id = drop_run.run
        and r.state = 'counting';
    return found;
end;
$$;

comment on function corpus.drop_run(integer) is
'Gives up a run that counts a slice of the reports.';
