#!/bin/sh
# What `npm start` runs: npm prints the command of a script, so the flags stand here. The samples in deploy/ have the same ones.
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_-1048576}"
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$PWD/node_modules/.cache/compiled}"
exec node --max-semi-space-size=16 --no-allocation-site-pretenuring --heap-growing-percent=50 --v8-pool-size=1 src/main.ts
