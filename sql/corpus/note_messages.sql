-- Note of which tasks messages came, went or changed.
--
-- It does not matter whose the tasks are: that is looked up when a slice is refreshed, since a task may be
-- moved at the same time by somebody else.
--
-- Called by   the triggers of the five log tables, after each statement; with the severity
-- Locks       nothing that another session could want

create or replace function corpus.note_messages()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if tg_op = 'TRUNCATE' then
        perform corpus.note_all(severity => tg_argv[0]);
    elsif tg_op = 'INSERT' then
        if not exists (select from new_rows) then
            return null;
        end if;
        if not corpus.is_watched(severity => tg_argv[0]) then
            perform corpus.note_all(severity => tg_argv[0]);
            return null;
        end if;
        insert into corpus.change (severity, task_id)
        select distinct
            tg_argv[0],
            n.task_id
        from new_rows as n;
    elsif tg_op = 'DELETE' then
        if not exists (select from old_rows) then
            return null;
        end if;
        if not corpus.is_watched(severity => tg_argv[0]) then
            perform corpus.note_all(severity => tg_argv[0]);
            return null;
        end if;
        insert into corpus.change (severity, task_id)
        select distinct
            tg_argv[0],
            o.task_id
        from old_rows as o;
    else
        if not exists (select from new_rows) then
            return null;
        end if;
        if not corpus.is_watched(severity => tg_argv[0]) then
            perform corpus.note_all(severity => tg_argv[0]);
            return null;
        end if;
        insert into corpus.change (severity, task_id)
        select
            tg_argv[0],
            o.task_id
        from old_rows as o
        union
        select
            tg_argv[0],
            n.task_id
        from new_rows as n;
    end if;
    return null;
end;
$$;

comment on function corpus.note_messages() is
'Trigger: notes of which tasks messages came, went or changed.';

create or replace trigger log_infos_note_insert
after insert on corpus.log_infos
referencing new table as new_rows
for each statement
execute function corpus.note_messages('info');

create or replace trigger log_infos_note_delete
after delete on corpus.log_infos
referencing old table as old_rows
for each statement
execute function corpus.note_messages('info');

create or replace trigger log_infos_note_update
after update on corpus.log_infos
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_messages('info');

create or replace trigger log_infos_note_truncate
after truncate on corpus.log_infos
for each statement
execute function corpus.note_messages('info');

create or replace trigger log_warnings_note_insert
after insert on corpus.log_warnings
referencing new table as new_rows
for each statement
execute function corpus.note_messages('warning');

create or replace trigger log_warnings_note_delete
after delete on corpus.log_warnings
referencing old table as old_rows
for each statement
execute function corpus.note_messages('warning');

create or replace trigger log_warnings_note_update
after update on corpus.log_warnings
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_messages('warning');

create or replace trigger log_warnings_note_truncate
after truncate on corpus.log_warnings
for each statement
execute function corpus.note_messages('warning');

create or replace trigger log_errors_note_insert
after insert on corpus.log_errors
referencing new table as new_rows
for each statement
execute function corpus.note_messages('error');

create or replace trigger log_errors_note_delete
after delete on corpus.log_errors
referencing old table as old_rows
for each statement
execute function corpus.note_messages('error');

create or replace trigger log_errors_note_update
after update on corpus.log_errors
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_messages('error');

create or replace trigger log_errors_note_truncate
after truncate on corpus.log_errors
for each statement
execute function corpus.note_messages('error');

create or replace trigger log_fatals_note_insert
after insert on corpus.log_fatals
referencing new table as new_rows
for each statement
execute function corpus.note_messages('fatal');

create or replace trigger log_fatals_note_delete
after delete on corpus.log_fatals
referencing old table as old_rows
for each statement
execute function corpus.note_messages('fatal');

create or replace trigger log_fatals_note_update
after update on corpus.log_fatals
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_messages('fatal');

create or replace trigger log_fatals_note_truncate
after truncate on corpus.log_fatals
for each statement
execute function corpus.note_messages('fatal');

create or replace trigger log_invalids_note_insert
after insert on corpus.log_invalids
referencing new table as new_rows
for each statement
execute function corpus.note_messages('invalid');

create or replace trigger log_invalids_note_delete
after delete on corpus.log_invalids
referencing old table as old_rows
for each statement
execute function corpus.note_messages('invalid');

create or replace trigger log_invalids_note_update
after update on corpus.log_invalids
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_messages('invalid');

create or replace trigger log_invalids_note_truncate
after truncate on corpus.log_invalids
for each statement
execute function corpus.note_messages('invalid');
