-- CreateTable
CREATE TABLE "audit_entries" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMP(0) NOT NULL,
    "account_id" INTEGER NOT NULL,
    "actor_user_id" INTEGER,
    "api_key_id" INTEGER,
    "ip" TEXT,
    "action" TEXT NOT NULL,
    "space_id" INTEGER,
    "table_id" INTEGER,
    "object" JSONB,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "keep_until" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_entries_account_id_at_id_idx" ON "audit_entries"("account_id", "at", "id");

-- CreateIndex
CREATE INDEX "audit_entries_keep_until_idx" ON "audit_entries"("keep_until");

-- The functions name no schema, so a fixed search_path keeps a session from putting its own operators or now() in front.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'The audit log refuses %', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION refuse_early_audit_deletion() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF OLD.keep_until > now() AT TIME ZONE 'UTC' THEN
    RAISE EXCEPTION 'The audit log keeps this row until %', OLD.keep_until USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER audit_entries_update BEFORE UPDATE ON "audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entries_truncate BEFORE TRUNCATE ON "audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entries_delete BEFORE DELETE ON "audit_entries" FOR EACH ROW EXECUTE FUNCTION refuse_early_audit_deletion();

-- ALWAYS: session_replication_role = replica turns ordinary triggers off.
ALTER TABLE "audit_entries" ENABLE ALWAYS TRIGGER audit_entries_update;
ALTER TABLE "audit_entries" ENABLE ALWAYS TRIGGER audit_entries_truncate;
ALTER TABLE "audit_entries" ENABLE ALWAYS TRIGGER audit_entries_delete;
