-- The types of fields are listed once, in src/fields/registry.ts: a new type needs no migration.
ALTER TABLE "fields" DROP CONSTRAINT "fields_type_check";
