-- Messages are read in pieces. PostgreSQL would decompress a compressed value from its beginning for each of them; old values stay as they are.
ALTER TABLE "inbound_emails" ALTER COLUMN "raw" SET STORAGE EXTERNAL;
