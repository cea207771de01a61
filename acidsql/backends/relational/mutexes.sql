-- Named mutexes. Each statement is named by the line before it; parameters are bound.

-- name: take_mutex
INSERT INTO AUX_TABLE (MT_KEY1, MT_KEY2, MT_COMMENT, MT_EXPIRES)
VALUES (:name, 0, :owner, :now_ms + CAST(:lease_ms AS BIGINT))
ON CONFLICT (MT_KEY1, MT_KEY2) DO UPDATE
SET MT_COMMENT = EXCLUDED.MT_COMMENT, MT_EXPIRES = EXCLUDED.MT_EXPIRES
WHERE AUX_TABLE.MT_COMMENT = EXCLUDED.MT_COMMENT OR AUX_TABLE.MT_EXPIRES <= :now_ms;

-- name: mutex_owner
SELECT MT_COMMENT FROM AUX_TABLE WHERE MT_KEY1 = :name AND MT_KEY2 = 0;

-- name: release_mutex
DELETE FROM AUX_TABLE WHERE MT_KEY1 = :name AND MT_KEY2 = 0 AND MT_COMMENT = :owner;
