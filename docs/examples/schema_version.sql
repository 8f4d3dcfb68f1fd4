select cortex.schema_version();
