"""What `sysconfig` knows of how this interpreter was built: nothing of the host that built it."""

build_time_vars = {}
