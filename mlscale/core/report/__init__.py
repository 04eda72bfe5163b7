"""One self-contained `report.html` per run, from building blocks that any study can use."""
