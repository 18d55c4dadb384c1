#!/bin/sh
exec "$(dirname "$0")/scheduler.sh" cancel "$@"
