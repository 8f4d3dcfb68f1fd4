-- Make the calling session one that can hold a lease: it may lie idle, and a host that vanishes without a
-- word does not keep it for hours.
--
-- Called by   register_runner, keep_runner in a new session

create or replace function cortex.hold_session()
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform set_config('idle_session_timeout', '0', false);
    perform set_config('tcp_keepalives_idle', '10', false);
    perform set_config('tcp_keepalives_interval', '5', false);
    perform set_config('tcp_keepalives_count', '3', false);
end;
$$;

comment on function cortex.hold_session() is
'Sets the calling session up to hold a runner''s lease.';
