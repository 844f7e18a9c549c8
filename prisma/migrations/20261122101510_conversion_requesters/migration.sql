-- The audit log names the requester of a conversion when its job is done. Conversions of earlier releases have only the user.
ALTER TABLE "field_conversions" ADD COLUMN     "api_key_id" INTEGER,
ADD COLUMN     "ip" TEXT;
