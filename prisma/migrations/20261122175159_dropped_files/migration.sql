-- Whether, how often and where a file was in use. Rows of earlier releases do not say; a release beside this one leaves the defaults.
ALTER TABLE "stored_files" ADD COLUMN     "comment_id" INTEGER,
ADD COLUMN     "field_id" TEXT,
ADD COLUMN     "is_shared" BOOLEAN,
ADD COLUMN     "was_held" BOOLEAN NOT NULL DEFAULT false;

-- For the job that deletes expired files, and for the list of a space.
CREATE INDEX "stored_files_was_held_dropped_at_idx" ON "stored_files"("was_held", "dropped_at");
CREATE INDEX "stored_files_space_id_dropped_at_idx" ON "stored_files"("space_id", "dropped_at");
