-- Names and external ids of requests come in NFC from this release on. An id that would meet that of another task of the account stays, and so do
-- texts of records, whose tables a job normalises. The previous release reads and writes either form.
UPDATE "spaces" SET "name" = normalize("name", NFC) WHERE "name" IS NOT NFC NORMALIZED;
UPDATE "users" SET "name" = normalize("name", NFC) WHERE "name" IS NOT NFC NORMALIZED;
UPDATE "tasks" k SET "external_id" = normalize(k."external_id", NFC)
WHERE k."external_id" IS NOT NULL AND k."external_id" IS NOT NFC NORMALIZED AND NOT EXISTS (
  SELECT FROM "tasks" o WHERE o."account_id" = k."account_id" AND o."id" <> k."id" AND normalize(o."external_id", NFC) = normalize(k."external_id", NFC));
