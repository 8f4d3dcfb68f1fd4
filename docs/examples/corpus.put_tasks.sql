select corpus.open_corpus('sample') as corpus \gset
select corpus.open_service('tex_to_html') as service \gset
-- Example
select entry, status from corpus.tasks;
select count(*)
from corpus.put_tasks(:'corpus', :'service', array['a.zip', 'b.zip'], array[-3, -1]);
select entry, status from corpus.tasks order by entry;
