#!/bin/sh
# Restores what backup.sh has saved into an empty database and an empty storage: those of DATABASE_URL and STORAGE, with the SECRET_KEY of the
# original, while no process of the service runs on them:
#   deploy/restore.sh /backup/gridpost/gridpost-20261129T020000Z.dump /backup/gridpost/files
# docs/backup.md says how to begin, and what to look at afterwards.
set -eu
dump=${1:?name the dump}
files=${2:?name the folder or bucket of the files}
: "${DATABASE_URL:?is needed, and so are the other settings of the service}"
storage=${STORAGE:-${DATA_DIR:?or STORAGE is needed}/files}
dump=$(cd "$(dirname "$dump")" && pwd)/$(basename "$dump")
case $files in s3://*) ;; *) files=$(cd "$files" && pwd) ;; esac
cd "$(dirname "$0")/.."

if [ "$(psql --no-psqlrc -Atc "select count(*) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')" "$DATABASE_URL")" != 0 ]; then
  echo 'The database of DATABASE_URL is not empty: create another one' >&2
  exit 1
fi
pg_restore --no-owner --exit-on-error --dbname="$DATABASE_URL" "$dump"
psql --no-psqlrc --quiet --command='analyze' "$DATABASE_URL"
STORAGE=$files STORAGE_PREVIOUS='' STORAGE_LINKS='' npm run -s admin -- files copy "$storage"
# A newer release applies its migrations here; then each file that a row names has to be there, whole.
npm run -s migrate -- deploy
npm run -s admin -- files check
echo 'Restored. Start with ROLE=web, and with workers once the original has ended'
