-- Since when a mail waits for its integration. Mails of earlier releases wait since they were created.
ALTER TABLE "outbound_emails" ADD COLUMN     "waiting_since" TIMESTAMP(0);
