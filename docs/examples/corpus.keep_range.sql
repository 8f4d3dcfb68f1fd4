select corpus.open_corpus('sample') as corpus \gset
select corpus.open_service('tex_to_html') as service \gset
select corpus.put_tasks(:'corpus', :'service', array['a.zip', 'b.zip'], array[-3, -3]);
insert into corpus.log_errors (task_id, category, what, details) select id, 'undefined', '\macro', '' from corpus.tasks;
select * from corpus.begin_run(:'corpus', :'service', 'error', keeps => true) \gset
-- Example
select corpus.keep_range(:'run', :'first_task', :'last_task');
