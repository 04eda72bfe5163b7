"""Many independent jobs (games x seeds, study grids) on one machine or on a Ray cluster.

`jobs` is the contract, `make` turns a name into an engine, `local` runs each job in a process
of its own and `ray` sends the same jobs to a cluster. `work` is what happens inside a worker;
`tries` is what both engines know of a job on the caller's side.
"""
