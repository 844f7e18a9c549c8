-- AlterTable
ALTER TABLE "tasks" ADD COLUMN     "reminder_missed" BOOLEAN NOT NULL DEFAULT false;

-- What the sweep of every minute reads, in the order in which it sends (design.md §5).
DROP INDEX "tasks_due_reminders_idx";
CREATE INDEX "tasks_due_reminders_idx" ON "tasks" ("reminder_at", "id")
  WHERE "reminder_at" IS NOT NULL AND "reminder_sent_at" IS NULL AND NOT "reminder_missed" AND "status" = 'open';

-- Nothing has sent reminders before.
UPDATE "tasks" SET "reminder_missed" = true WHERE "reminder_at" < now() AT TIME ZONE 'UTC' AND "reminder_sent_at" IS NULL;

-- What mail has not decided about: at most what an hour brings. Notifications from before there was mail are not mailed.
UPDATE "notifications" SET "mailed_at" = "created_at" WHERE "mailed_at" IS NULL;
CREATE INDEX "notifications_waiting_idx" ON "notifications" ("user_id") WHERE "mailed_at" IS NULL;
