-- The messages of an account and of a sender that are still to be read: how many they are decides on the turn of the next one.
CREATE INDEX "inbound_verdicts_waiting_idx" ON "inbound_verdicts"("account_id", "inbound_email_id") WHERE verdict IS NULL;
CREATE INDEX "inbound_emails_waiting_idx" ON "inbound_emails"("from_email") WHERE processed_at IS NULL;
