-- What Prisma's schema cannot express. Each name stands in the list of allowed extras of scripts/catalogue.ts.

-- Trigram indexes on text fields serve contains, ends_with and search.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Losing it in a crash only forgives some requests, and it is written on every slice that a process takes.
ALTER TABLE "rate_windows" SET UNLOGGED;

-- Names are unique without regard to case, in every script: the collation of the database might know only ASCII.
CREATE UNIQUE INDEX "tables_space_id_lower_name_key" ON "tables" ("space_id", lower("name" COLLATE "pg_c_utf8")) WHERE "deleted_at" IS NULL;
CREATE UNIQUE INDEX "fields_table_id_lower_name_key" ON "fields" ("table_id", lower("name" COLLATE "pg_c_utf8"));
CREATE UNIQUE INDEX "views_table_id_lower_name_key" ON "views" ("table_id", lower("name" COLLATE "pg_c_utf8"));

-- At most one default each.
CREATE UNIQUE INDEX "views_one_default_per_table" ON "views" ("table_id") WHERE "is_table_default";
CREATE UNIQUE INDEX "email_signatures_one_default_per_user" ON "email_signatures" ("user_id") WHERE "is_default";

-- What the sweep of every minute reads (design.md §5).
CREATE INDEX "tasks_due_reminders_idx" ON "tasks" ("reminder_at")
  WHERE "reminder_at" IS NOT NULL AND "reminder_sent_at" IS NULL AND "status" = 'open';

-- api.md, Task: what goes with what.
ALTER TABLE "tasks"
  ADD CONSTRAINT "tasks_status_check" CHECK ("status" IN ('open', 'done')),
  ADD CONSTRAINT "tasks_place_check" CHECK (num_nulls("space_id", "table_id", "record_id") IN (0, 3)),
  ADD CONSTRAINT "tasks_due_time_check" CHECK ("due_time" IS NULL OR "due_date" IS NOT NULL),
  ADD CONSTRAINT "tasks_one_reminder_check" CHECK ("reminder_offset_mins" IS NULL OR "reminder_time" IS NULL),
  ADD CONSTRAINT "tasks_reminder_offset_check" CHECK ("reminder_offset_mins" IS NULL OR "due_time" IS NOT NULL),
  ADD CONSTRAINT "tasks_reminder_time_check" CHECK ("reminder_time" IS NULL OR ("due_date" IS NOT NULL AND "due_time" IS NULL)),
  ADD CONSTRAINT "tasks_completed_check" CHECK (
    ("status" = 'done') = ("completed_at" IS NOT NULL) AND ("status" = 'done' OR "completed_by_user_id" IS NULL)
  );

-- Closed sets of words.
ALTER TABLE "users"
  ADD CONSTRAINT "users_status_check" CHECK ("status" IN ('active', 'invited', 'deleted')),
  ADD CONSTRAINT "users_mail_preference_check" CHECK ("mail_preference" IN ('at_once', 'digest', 'none'));
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_kind_check" CHECK ("kind" IN ('account', 'personal'));
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_role_check" CHECK ("role" IN ('viewer', 'member', 'admin'));
ALTER TABLE "fields" ADD CONSTRAINT "fields_type_check" CHECK (
  "type" IN (
    'text', 'long_text', 'email', 'url', 'phone', 'number', 'checkbox', 'date', 'datetime', 'time', 'select', 'multi_select',
    'user', 'multi_user', 'lookup', 'multi_lookup', 'file'
  )
);
ALTER TABLE "views"
  ADD CONSTRAINT "views_type_check" CHECK ("type" IN ('grid', 'calendar', 'gallery', 'kanban')),
  ADD CONSTRAINT "views_order_dir_check" CHECK ("order_dir" IN ('A', 'D'));
ALTER TABLE "record_comments" ADD CONSTRAINT "record_comments_type_check" CHECK ("type" IN ('comment', 'email_out', 'email_in'));
ALTER TABLE "smtp_integrations" ADD CONSTRAINT "smtp_integrations_tls_check" CHECK ("tls" IN ('none', 'starttls', 'tls'));
ALTER TABLE "email_opens" ADD CONSTRAINT "email_opens_class_check" CHECK ("class" IN ('human', 'image_proxy', 'prefetch', 'scanner'));
