-- A mail of unknown outcome may have arrived, so it counts as sent. It was dropped before.
UPDATE "record_comments" c
SET "metadata" = c."metadata" || jsonb_build_object('status', 'sent', 'sentAt', c."metadata"->'droppedAt', 'droppedAt', NULL, 'error', r."unknown"->'error')
FROM (
  SELECT "id", (jsonb_path_query_array("metadata", '$.recipients[*] ? (@.status == "unknown")'))->0 AS "unknown"
  FROM "record_comments" WHERE "type" = 'email_out' AND "metadata"->>'status' = 'dropped'
) r
WHERE c."id" = r."id" AND r."unknown" IS NOT NULL;

-- A mail whose last recipient was dropped after another had bounced stayed sent.
UPDATE "record_comments"
SET "metadata" = "metadata" || jsonb_build_object('status', 'bounced', 'bouncedAt', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'))
WHERE "type" = 'email_out' AND "metadata"->>'status' IN ('sent', 'read')
  AND "metadata" @? '$.recipients[*] ? (@.status == "bounced")'
  AND NOT "metadata" @? '$.recipients[*] ? (@.status == "queued" || @.status == "sent" || @.status == "unknown")';
