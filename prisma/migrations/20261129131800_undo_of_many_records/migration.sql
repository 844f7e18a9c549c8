-- AlterTable
ALTER TABLE "bulk_changes" ADD COLUMN     "undoes" BIGINT;

-- Of two undos of a change at once, one wins.
CREATE UNIQUE INDEX "bulk_changes_undoes_key" ON "bulk_changes"("table_id", "undoes") WHERE "state" = 'running';
