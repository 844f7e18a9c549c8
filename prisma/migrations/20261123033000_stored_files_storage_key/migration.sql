-- Few files have their bytes at another key than their path. Without the index, a look for a key in storage read all rows, and the nightly
-- clean-up, files check and files move look for every key.
CREATE INDEX "stored_files_storage_key_idx" ON "stored_files" ("storage_key") WHERE "storage_key" IS NOT NULL;
