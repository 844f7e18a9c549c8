-- CreateTable
CREATE TABLE "file_tallies" (
    "id" BIGSERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "files" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,

    CONSTRAINT "file_tallies_pkey" PRIMARY KEY ("account_id","id")
);

-- Triggers, so that files of a release beside this one count as well.
CREATE FUNCTION tally_stored_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.file_tallies (account_id, files, bytes) SELECT account_id, count(*), sum(size) FROM added GROUP BY account_id;
  RETURN NULL;
END $$;

CREATE FUNCTION tally_deleted_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.file_tallies (account_id, files, bytes) SELECT account_id, -count(*), -sum(size) FROM gone GROUP BY account_id;
  RETURN NULL;
END $$;

-- They wait for open uploads, so that the sum below and the tallies have each file once.
CREATE TRIGGER tally_insert AFTER INSERT ON "stored_files" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tally_stored_files();
CREATE TRIGGER tally_delete AFTER DELETE ON "stored_files" REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION tally_deleted_files();
INSERT INTO "file_tallies" ("account_id", "files", "bytes") SELECT "account_id", count(*), sum("size") FROM "stored_files" GROUP BY "account_id";

-- For the number of mails of an account.
CREATE INDEX "record_comments_mails_idx" ON "record_comments" ("account_id") WHERE "type" <> 'comment';
