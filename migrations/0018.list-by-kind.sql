-- So that the newest jobs of a kind, in one status or in any, are found at once among millions.

create index job_kind_idx on cortex.job (kind, status, created_at);

comment on index cortex.job_kind_idx is
'list_jobs: the newest jobs of a kind in a status.';

comment on index cortex.job_created_idx is
'list_recent, list_jobs: newest first.';

comment on index cortex.job_status_created_idx is
'count_recent_with_status, status_counts, metrics, free_slots, list_jobs: a window of one status, and what is active.';
