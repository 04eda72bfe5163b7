"""What two or more studies share: errors, configuration, runs, statistics, engine, reports."""
