-- CreateTable
CREATE TABLE "record_imports" (
    "id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "storage_key" TEXT NOT NULL,
    "is_new_table" BOOLEAN NOT NULL,
    "columns" JSONB,
    "role" TEXT NOT NULL,
    "user_id" INTEGER,
    "api_key_id" INTEGER,
    "ip" TEXT,
    "state" TEXT NOT NULL DEFAULT 'running',
    "done" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER,
    "created" INTEGER,
    "error" TEXT,
    "issues" JSONB,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMP(0) NOT NULL,
    "updated_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "record_imports_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "record_imports_space_id_idx" ON "record_imports"("space_id");

-- CreateIndex
CREATE INDEX "record_imports_account_id_state_idx" ON "record_imports"("account_id", "state");

-- AddForeignKey
ALTER TABLE "record_imports" ADD CONSTRAINT "record_imports_space_id_fkey" FOREIGN KEY ("space_id") REFERENCES "spaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;
