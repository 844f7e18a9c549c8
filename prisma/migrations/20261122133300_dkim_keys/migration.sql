-- The key with which the mails of an integration are signed: all four columns, or none of them.
ALTER TABLE "smtp_integrations" ADD COLUMN     "dkim_domain" TEXT,
ADD COLUMN     "dkim_key_encrypted" BYTEA,
ADD COLUMN     "dkim_public_key" TEXT,
ADD COLUMN     "dkim_selector" TEXT,
ADD CONSTRAINT "smtp_integrations_dkim_check"
  CHECK (num_nulls("dkim_domain", "dkim_selector", "dkim_public_key", "dkim_key_encrypted") IN (0, 4));
