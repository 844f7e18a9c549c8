-- Null for the views there are: they go on by filters, order_by and order_dir.
ALTER TABLE "views" ADD COLUMN "filter" JSONB, ADD COLUMN "order_keys" JSONB;
