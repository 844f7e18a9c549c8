-- AlterTable
ALTER TABLE "users" ADD COLUMN     "disabled_from" TEXT;

-- CreateTable
CREATE TABLE "last_seen" (
    "user_id" INTEGER NOT NULL,
    "at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "last_seen_pkey" PRIMARY KEY ("user_id")
);

-- AddForeignKey
ALTER TABLE "last_seen" ADD CONSTRAINT "last_seen_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
