-- A migration of its own: a lock on both tables could deadlock with the previous release, which uses them in one transaction.
ALTER TABLE "outbound_emails" ADD COLUMN     "handed_over" JSONB,
ADD COLUMN     "is_separate" BOOLEAN;
