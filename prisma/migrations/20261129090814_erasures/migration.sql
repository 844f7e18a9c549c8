-- CreateTable
CREATE TABLE "erasures" (
    "user_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "emails" TEXT[],
    "created_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "erasures_pkey" PRIMARY KEY ("user_id")
);

-- AddForeignKey
ALTER TABLE "erasures" ADD CONSTRAINT "erasures_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
