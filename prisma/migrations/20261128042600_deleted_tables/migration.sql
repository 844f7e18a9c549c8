-- Lists of tasks leave out the tables of an account that are deleted but can be restored: few of many.
CREATE INDEX "tables_deleted_idx" ON "tables" ("account_id") INCLUDE ("id") WHERE "deleted_at" IS NOT NULL;
