"""Build variables for `sysconfig`, without values of the build host."""

build_time_vars = {}
