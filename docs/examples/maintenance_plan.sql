select table_name, index_bytes > 0 as has_indexes, indexes -> 0 ->> 'state' as first, plan
from cortex.maintenance_plan('reindex', tables => '{corpus.tasks}');
