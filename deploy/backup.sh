#!/bin/sh
# Backs up a PostgreSQL of your own and the files of STORAGE, beside the running service. With the settings of the service in the environment:
#   deploy/backup.sh /backup/gridpost
# The folder gets gridpost-<time>.dump, and in files/ each file that was not there; a second argument names another folder, or a bucket
# (s3://…), for the files. KEEP (14) dumps are kept. Files are never deleted there. docs/backup.md has more.
set -eu
folder=${1:?name the folder of the backups}
keep=${KEEP:-14}
: "${DATABASE_URL:?is needed, and so are the other settings of the service}"
case $keep in '' | 0* | *[!0-9]*) echo 'KEEP: must be a whole number, 1 or more' >&2 && exit 1 ;; esac
umask 077
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
files=${2:-$folder/files}
case $files in s3://*) ;; *) mkdir -p "$files"; files=$(cd "$files" && pwd) ;; esac
cd "$(dirname "$0")/.."
dump=$folder/gridpost-$(date -u +%Y%m%dT%H%M%SZ).dump
trap 'rm -f "$dump.partial"' EXIT
trap 'exit 1' HUP INT TERM

# The database comes first: a file is stored before its row, and deleted long after its last use. So each row of the dump finds its file, and
# files that came later only take space.
pg_dump --format=custom --file="$dump.partial" "$DATABASE_URL"
pg_restore --list "$dump.partial" >/dev/null
npm run -s admin -- files copy "$files"
# A dump with this name is complete, and all of its files are there.
mv "$dump.partial" "$dump"
echo "Wrote $dump; the files are in $files"

ls -1r "$folder"/gridpost-*.dump | tail -n "+$((keep + 1))" | while read -r old; do rm -- "$old"; done
