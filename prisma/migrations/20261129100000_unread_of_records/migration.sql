-- The unread notifications of a user about a record, for its badge.
CREATE INDEX "notifications_unread_idx" ON "notifications" ("user_id", "table_id", "record_id") WHERE "read_at" IS NULL;
