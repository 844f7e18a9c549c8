-- CreateTable
CREATE TABLE "record_tallies" (
    "id" BIGSERIAL NOT NULL,
    "table_id" INTEGER NOT NULL,
    "change" BIGINT NOT NULL,
    "is_base" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "record_tallies_pkey" PRIMARY KEY ("table_id","id")
);

-- For the triggers of large tables of records (src/tables/tallies.ts); their argument is the id of the table.
CREATE FUNCTION tally_inserts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.record_tallies (table_id, change) SELECT TG_ARGV[0]::int, count(*) FROM added HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION tally_deletes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.record_tallies (table_id, change) SELECT TG_ARGV[0]::int, -count(*) FROM gone HAVING count(*) > 0;
  RETURN NULL;
END $$;

-- Nothing is known of the table until it has been counted again.
CREATE FUNCTION tally_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.record_tallies WHERE table_id = TG_ARGV[0]::int;
  RETURN NULL;
END $$;
