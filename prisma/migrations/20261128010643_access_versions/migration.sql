-- Nodes of a Citus cluster have none of these tables.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);

-- CreateTable
CREATE TABLE "access_versions" (
    "account_id" INTEGER NOT NULL,
    "version" UUID NOT NULL DEFAULT gen_random_uuid(),

    CONSTRAINT "access_versions_pkey" PRIMARY KEY ("account_id")
);

-- AddForeignKey
ALTER TABLE "access_versions" ADD CONSTRAINT "access_versions_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

INSERT INTO "access_versions" ("account_id") SELECT "id" FROM "accounts" ON CONFLICT DO NOTHING;

-- It changes the version once for each transaction, so that a change of many rows leaves few dead versions of this row. The row stays locked until the
-- commit is on disk, so transactions of one account that end at the same time wait for each other. A change of a table has a lock_timeout that would be
-- too short for that, so the function sets its own.
CREATE FUNCTION change_access_version(changed_account int) RETURNS void LANGUAGE sql SET lock_timeout = '5s' AS $$
  INSERT INTO public.access_versions (account_id) SELECT id FROM public.accounts WHERE id = changed_account
  ON CONFLICT (account_id) DO UPDATE SET version = gen_random_uuid() WHERE access_versions.xmin <> pg_current_xact_id()::xid;
$$;
CREATE FUNCTION access_changed_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.change_access_version(NEW.id);
  RETURN NULL;
END $$;
CREATE FUNCTION access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM public.change_access_version(OLD.account_id);
  END IF;
  IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.account_id <> OLD.account_id THEN
    PERFORM public.change_access_version(NEW.account_id);
  END IF;
  RETURN NULL;
END $$;
-- The sessions of a user who is deleted change with the user.
CREATE FUNCTION access_changed_of_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.change_access_version(account_id) FROM public.users WHERE id = OLD.user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION all_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.access_versions SET version = gen_random_uuid();
  RETURN NULL;
END $$;

-- The triggers run at the commit, so that no transaction keeps the row of its account locked while it waits for others. An insert counts, too: if a standby that has
-- not received it is promoted, its id is given again, to another account perhaps. A new key or session is known by its secret, which is never given
-- again. Conditions name the columns that do not matter: a new column matters, and none is part of the definition of a trigger, which would keep it
-- from being changed.
CREATE CONSTRAINT TRIGGER accounts_access_changed AFTER INSERT OR UPDATE ON "accounts" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed_of_account();
CREATE CONSTRAINT TRIGGER users_access_changed AFTER INSERT OR UPDATE OR DELETE ON "users" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed();
CREATE CONSTRAINT TRIGGER spaces_access_changed AFTER INSERT OR UPDATE OR DELETE ON "spaces" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed();
CREATE CONSTRAINT TRIGGER space_members_access_changed AFTER INSERT OR UPDATE OR DELETE ON "space_members" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed();
CREATE CONSTRAINT TRIGGER tables_access_changed AFTER INSERT OR UPDATE OR DELETE ON "tables" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed();
CREATE CONSTRAINT TRIGGER api_keys_access_changed AFTER UPDATE ON "api_keys" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (to_jsonb(OLD) - 'last_used_at' IS DISTINCT FROM to_jsonb(NEW) - 'last_used_at') EXECUTE FUNCTION access_changed();
CREATE CONSTRAINT TRIGGER api_keys_access_ended AFTER DELETE ON "api_keys" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION access_changed();
-- A session that is extended, as each is once a minute, is not refused for its former end: it is looked up again.
CREATE CONSTRAINT TRIGGER sessions_access_changed AFTER UPDATE ON "sessions" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (to_jsonb(OLD) - '{last_seen_at,expires_at,ip,user_agent}'::text[] IS DISTINCT FROM to_jsonb(NEW) - '{last_seen_at,expires_at,ip,user_agent}'::text[]
    OR to_jsonb(NEW) ->> 'expires_at' < to_jsonb(OLD) ->> 'expires_at')
  EXECUTE FUNCTION access_changed_of_session();
-- The sessions that are deleted every hour because they ended long ago count for nobody any more.
CREATE CONSTRAINT TRIGGER sessions_access_ended AFTER DELETE ON "sessions" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((to_jsonb(OLD) ->> 'expires_at')::timestamp > now() AT TIME ZONE 'UTC' - interval '1 hour')
  EXECUTE FUNCTION access_changed_of_session();

DO $$
DECLARE
  truncated text;
BEGIN
  FOREACH truncated IN ARRAY ARRAY['users', 'spaces', 'space_members', 'tables', 'api_keys', 'sessions'] LOOP
    EXECUTE format('CREATE TRIGGER %I AFTER TRUNCATE ON public.%I FOR EACH STATEMENT EXECUTE FUNCTION public.all_access_changed()',
      truncated || '_access_truncated', truncated);
  END LOOP;
END $$;
