-- The mail of a deleted record is looked for by the token of its pixel.
CREATE INDEX "deleted_rows_pixels_idx" ON "deleted_rows" (("content" ->> 'pixel_token_hash')) WHERE "source" = 'outbound_emails';
