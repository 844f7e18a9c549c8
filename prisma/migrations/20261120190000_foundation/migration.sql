-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "accounts" (
    "id" SERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "owner_user_id" INTEGER,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "timezone" TEXT NOT NULL DEFAULT 'UTC',
    "status" TEXT NOT NULL DEFAULT 'active',
    "mail_preference" TEXT NOT NULL DEFAULT 'digest',
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "invites" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "invites_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "login_failures" (
    "email" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "last_failed_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "login_failures_pkey" PRIMARY KEY ("email")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "read_only" BOOLEAN NOT NULL DEFAULT false,
    "space_ids" INTEGER[],
    "all_spaces" BOOLEAN NOT NULL DEFAULT true,
    "ip_allowlist" TEXT[],
    "expires_at" TIMESTAMP(0),
    "last_used_at" TIMESTAMP(0),
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_windows" (
    "id" TEXT NOT NULL,
    "used" INTEGER NOT NULL,
    "expires_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "rate_windows_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "id" BYTEA NOT NULL,
    "body_hash" BYTEA NOT NULL,
    "answer" BYTEA NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "spaces" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMP(0),

    CONSTRAINT "spaces_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "space_members" (
    "space_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "space_members_pkey" PRIMARY KEY ("space_id","user_id")
);

-- CreateTable
CREATE TABLE "tables" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "layout" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMP(0),

    CONSTRAINT "tables_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "fields" (
    "table_id" INTEGER NOT NULL,
    "id" TEXT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "required" BOOLEAN NOT NULL DEFAULT false,
    "always_hidden" BOOLEAN NOT NULL DEFAULT false,
    "admin_only" BOOLEAN NOT NULL DEFAULT false,
    "options" JSONB,
    "decimals" INTEGER,
    "lookup_table_id" INTEGER,

    CONSTRAINT "fields_pkey" PRIMARY KEY ("table_id","id")
);

-- CreateTable
CREATE TABLE "views" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "config" JSONB NOT NULL,
    "filters" JSONB NOT NULL DEFAULT '[]',
    "order_by" TEXT,
    "order_dir" TEXT,
    "is_table_default" BOOLEAN NOT NULL DEFAULT false,
    "created_by" INTEGER NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "views_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "stored_files" (
    "path" TEXT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER,
    "table_id" INTEGER,
    "record_id" INTEGER,
    "task_id" INTEGER,
    "name" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "created_by" INTEGER,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "dropped_at" TIMESTAMP(0),

    CONSTRAINT "stored_files_pkey" PRIMARY KEY ("path")
);

-- CreateTable
CREATE TABLE "record_comments" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL,
    "type" TEXT NOT NULL DEFAULT 'comment',
    "user_id" INTEGER NOT NULL,
    "user_name" TEXT NOT NULL,
    "api_key_id" INTEGER,
    "content" TEXT NOT NULL,
    "attachments" JSONB NOT NULL DEFAULT '[]',
    "metadata" JSONB,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0),

    CONSTRAINT "record_comments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscriptions" (
    "user_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL DEFAULT 0,
    "account_id" INTEGER NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("user_id","table_id","record_id")
);

-- CreateTable
CREATE TABLE "notifications" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "actor_user_id" INTEGER,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER,
    "table_id" INTEGER,
    "record_id" INTEGER,
    "task_id" INTEGER,
    "event_type" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "summary" TEXT NOT NULL,
    "seen_at" TIMESTAMP(0),
    "read_at" TIMESTAMP(0),
    "mailed_at" TIMESTAMP(0),
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "notifications_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tasks" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "creator_user_id" INTEGER NOT NULL,
    "assignee_user_id" INTEGER NOT NULL,
    "space_id" INTEGER,
    "table_id" INTEGER,
    "record_id" INTEGER,
    "title" TEXT NOT NULL,
    "details" TEXT,
    "due_date" DATE,
    "due_time" TIME(0),
    "reminder_offset_mins" INTEGER,
    "reminder_time" TIME(0),
    "reminder_at" TIMESTAMP(0),
    "reminder_sent_at" TIMESTAMP(0),
    "status" TEXT NOT NULL DEFAULT 'open',
    "completed_at" TIMESTAMP(0),
    "completed_by_user_id" INTEGER,
    "attachments" JSONB NOT NULL DEFAULT '[]',
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "task_subscribers" (
    "task_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "task_subscribers_pkey" PRIMARY KEY ("task_id","user_id")
);

-- CreateTable
CREATE TABLE "task_comments" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "task_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "user_name" TEXT NOT NULL,
    "api_key_id" INTEGER,
    "content" TEXT NOT NULL,
    "attachments" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0),

    CONSTRAINT "task_comments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "smtp_integrations" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "label" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "tls" TEXT NOT NULL,
    "username" TEXT,
    "password_encrypted" BYTEA,
    "from_domains" TEXT[],
    "from_identities" JSONB NOT NULL DEFAULT '[]',
    "disable_pixel" BOOLEAN NOT NULL DEFAULT false,
    "reply_as_envelope" BOOLEAN NOT NULL DEFAULT true,
    "all_tables" BOOLEAN NOT NULL DEFAULT true,
    "table_ids" INTEGER[],
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "smtp_integrations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "email_signatures" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "html" TEXT NOT NULL,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "email_signatures_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbound_emails" (
    "comment_id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL,
    "smtp_integration_id" INTEGER NOT NULL,
    "request" JSONB NOT NULL,
    "message_id" TEXT NOT NULL,
    "pixel_token_hash" BYTEA NOT NULL,
    "attempted_at" TIMESTAMP(0),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outbound_emails_pkey" PRIMARY KEY ("comment_id")
);

-- CreateTable
CREATE TABLE "reply_tokens" (
    "token_hash" BYTEA NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL,
    "comment_id" INTEGER NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reply_tokens_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
CREATE TABLE "inbound_emails" (
    "id" SERIAL NOT NULL,
    "raw" BYTEA NOT NULL,
    "sha256" BYTEA NOT NULL,
    "token_hashes" BYTEA[],
    "received_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "processed_at" TIMESTAMP(0),
    "error" TEXT,

    CONSTRAINT "inbound_emails_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "inbound_deliveries" (
    "token_hash" BYTEA NOT NULL,
    "message_key" TEXT NOT NULL,
    "comment_id" INTEGER,
    "auto_reply" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "inbound_deliveries_pkey" PRIMARY KEY ("token_hash","message_key")
);

-- CreateTable
CREATE TABLE "email_opens" (
    "id" SERIAL NOT NULL,
    "comment_id" INTEGER NOT NULL,
    "class" TEXT NOT NULL,
    "user_agent" TEXT,
    "opened_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "email_opens_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "accounts_owner_user_id_key" ON "accounts"("owner_user_id");

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "users_account_id_idx" ON "users"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "sessions_token_hash_key" ON "sessions"("token_hash");

-- CreateIndex
CREATE INDEX "sessions_user_id_idx" ON "sessions"("user_id");

-- CreateIndex
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "invites_token_hash_key" ON "invites"("token_hash");

-- CreateIndex
CREATE INDEX "invites_user_id_idx" ON "invites"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_token_hash_key" ON "api_keys"("token_hash");

-- CreateIndex
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- CreateIndex
CREATE INDEX "api_keys_user_id_idx" ON "api_keys"("user_id");

-- CreateIndex
CREATE INDEX "rate_windows_expires_at_idx" ON "rate_windows"("expires_at");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE INDEX "spaces_account_id_idx" ON "spaces"("account_id");

-- CreateIndex
CREATE INDEX "space_members_user_id_idx" ON "space_members"("user_id");

-- CreateIndex
CREATE INDEX "tables_space_id_idx" ON "tables"("space_id");

-- CreateIndex
CREATE INDEX "tables_account_id_idx" ON "tables"("account_id");

-- CreateIndex
CREATE INDEX "fields_lookup_table_id_idx" ON "fields"("lookup_table_id");

-- CreateIndex
CREATE INDEX "views_table_id_idx" ON "views"("table_id");

-- CreateIndex
CREATE INDEX "stored_files_table_id_record_id_idx" ON "stored_files"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "stored_files_dropped_at_idx" ON "stored_files"("dropped_at");

-- CreateIndex
CREATE INDEX "record_comments_table_id_record_id_id_idx" ON "record_comments"("table_id", "record_id", "id");

-- CreateIndex
CREATE INDEX "subscriptions_table_id_record_id_idx" ON "subscriptions"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "notifications_user_id_id_idx" ON "notifications"("user_id", "id");

-- CreateIndex
CREATE INDEX "notifications_task_id_idx" ON "notifications"("task_id");

-- CreateIndex
CREATE INDEX "tasks_table_id_record_id_idx" ON "tasks"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "tasks_assignee_user_id_status_idx" ON "tasks"("assignee_user_id", "status");

-- CreateIndex
CREATE INDEX "tasks_creator_user_id_idx" ON "tasks"("creator_user_id");

-- CreateIndex
CREATE INDEX "task_subscribers_user_id_idx" ON "task_subscribers"("user_id");

-- CreateIndex
CREATE INDEX "task_comments_task_id_id_idx" ON "task_comments"("task_id", "id");

-- CreateIndex
CREATE INDEX "smtp_integrations_space_id_idx" ON "smtp_integrations"("space_id");

-- CreateIndex
CREATE INDEX "email_signatures_user_id_idx" ON "email_signatures"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "outbound_emails_message_id_key" ON "outbound_emails"("message_id");

-- CreateIndex
CREATE UNIQUE INDEX "outbound_emails_pixel_token_hash_key" ON "outbound_emails"("pixel_token_hash");

-- CreateIndex
CREATE INDEX "outbound_emails_table_id_record_id_idx" ON "outbound_emails"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "reply_tokens_table_id_record_id_idx" ON "reply_tokens"("table_id", "record_id");

-- CreateIndex
CREATE UNIQUE INDEX "inbound_emails_sha256_key" ON "inbound_emails"("sha256");

-- CreateIndex
CREATE INDEX "inbound_emails_received_at_idx" ON "inbound_emails"("received_at");

-- CreateIndex
CREATE INDEX "email_opens_comment_id_id_idx" ON "email_opens"("comment_id", "id");

-- AddForeignKey
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_owner_user_id_fkey" FOREIGN KEY ("owner_user_id") REFERENCES "users"("id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "users" ADD CONSTRAINT "users_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invites" ADD CONSTRAINT "invites_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spaces" ADD CONSTRAINT "spaces_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_space_id_fkey" FOREIGN KEY ("space_id") REFERENCES "spaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "space_members" ADD CONSTRAINT "space_members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tables" ADD CONSTRAINT "tables_space_id_fkey" FOREIGN KEY ("space_id") REFERENCES "spaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "fields" ADD CONSTRAINT "fields_table_id_fkey" FOREIGN KEY ("table_id") REFERENCES "tables"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "views" ADD CONSTRAINT "views_table_id_fkey" FOREIGN KEY ("table_id") REFERENCES "tables"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "task_subscribers" ADD CONSTRAINT "task_subscribers_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "task_comments" ADD CONSTRAINT "task_comments_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;
