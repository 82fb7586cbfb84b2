"""The tables of a market file.

What must never happen is refused here, not only in the code above: an assignment over the maximum (a CHECK on counts
that triggers keep), a second assignment of one worker (a unique index), a step back in an assignment's life, a second
or a changed answer (a primary key and triggers).
"""

APPLICATION_ID = 0x5259504D  # "RYPM"
VERSION = 1

PEOPLE = (
    """
    CREATE TABLE workers (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL CHECK (name <> ''),
        source TEXT NOT NULL,
        external_id TEXT NOT NULL,
        created INTEGER NOT NULL,
        consented INTEGER,
        country TEXT,
        subdivision TEXT,
        adult INTEGER NOT NULL DEFAULT 0 CHECK (adult IN (0, 1)),
        approved_before INTEGER NOT NULL DEFAULT 0 CHECK (approved_before >= 0),
        rejected_before INTEGER NOT NULL DEFAULT 0 CHECK (rejected_before >= 0),
        UNIQUE (source, external_id)
    )
    """,
    """
    CREATE TABLE invitations (
        token_hash TEXT PRIMARY KEY,
        worker TEXT NOT NULL REFERENCES workers (id),
        created INTEGER NOT NULL,
        revoked INTEGER
    ) WITHOUT ROWID
    """,
    "CREATE INDEX invitations_of_worker ON invitations (worker)",
    """
    CREATE TABLE blocks (
        number INTEGER PRIMARY KEY,
        worker TEXT NOT NULL UNIQUE REFERENCES workers (id),
        reason TEXT NOT NULL,
        created INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        worker TEXT NOT NULL REFERENCES workers (id),
        subject TEXT NOT NULL,
        text TEXT NOT NULL,
        created INTEGER NOT NULL,
        seen INTEGER
    )
    """,
    "CREATE INDEX messages_of_worker ON messages (worker, number)",
    """
    CREATE TABLE signatures (
        signature TEXT NOT NULL,
        attempt TEXT NOT NULL,
        seen INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        connection TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (signature, attempt)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX signatures_by_expiry ON signatures (expires)",
)

HITS = (
    """
    CREATE TABLE hit_types (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        keywords TEXT NOT NULL,
        reward INTEGER NOT NULL CHECK (reward >= 0),
        duration INTEGER NOT NULL CHECK (duration > 0),
        auto_approval INTEGER NOT NULL CHECK (auto_approval >= 0),
        requirements TEXT NOT NULL,
        created INTEGER NOT NULL,
        deleted INTEGER
    )
    """,
    "CREATE UNIQUE INDEX living_hit_types ON hit_types (key) WHERE deleted IS NULL",
    """
    CREATE TABLE hits (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hit_type TEXT NOT NULL REFERENCES hit_types (id),
        annotation TEXT,
        max_assignments INTEGER NOT NULL CHECK (max_assignments > 0),
        created INTEGER NOT NULL,
        expiration INTEGER NOT NULL,
        reviewing INTEGER NOT NULL DEFAULT 0 CHECK (reviewing IN (0, 1)),
        disposed INTEGER,
        pending INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),
        submitted INTEGER NOT NULL DEFAULT 0 CHECK (submitted >= 0),
        completed INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
        question TEXT NOT NULL,
        paused INTEGER,  -- the seconds that were left when it was paused
        CHECK (pending + submitted + completed <= max_assignments)
    )
    """,
    """
    CREATE INDEX open_hits ON hits (number, expiration, hit_type, id)
    WHERE disposed IS NULL AND max_assignments - pending - submitted - completed > 0
    """,
    """
    CREATE TABLE request_tokens (
        operation TEXT NOT NULL,
        token TEXT NOT NULL,
        created INTEGER NOT NULL,
        made TEXT NOT NULL,
        PRIMARY KEY (operation, token)
    ) WITHOUT ROWID
    """,
)

ASSIGNMENTS = (
    """
    CREATE TABLE assignments (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hit TEXT NOT NULL REFERENCES hits (id),
        worker TEXT NOT NULL REFERENCES workers (id),
        status TEXT NOT NULL DEFAULT 'accepted'
            CHECK (status IN ('accepted', 'returned', 'abandoned', 'submitted', 'approved', 'rejected')),
        reward INTEGER NOT NULL CHECK (reward >= 0),
        accepted INTEGER NOT NULL,
        deadline INTEGER NOT NULL,
        ended INTEGER,
        submitted INTEGER,
        auto_approval INTEGER,
        approved INTEGER,
        rejected INTEGER,
        feedback TEXT,
        seen INTEGER,
        CHECK ((status IN ('submitted', 'approved', 'rejected')) = (submitted IS NOT NULL)),
        CHECK ((submitted IS NULL) = (auto_approval IS NULL)),
        CHECK ((status = 'approved') = (approved IS NOT NULL)),
        CHECK (status <> 'rejected' OR rejected IS NOT NULL)
    )
    """,
    """
    CREATE UNIQUE INDEX one_assignment_a_worker ON assignments (hit, worker)
    WHERE status NOT IN ('returned', 'abandoned')
    """,
    "CREATE INDEX assignments_of_hit ON assignments (hit, number)",
    "CREATE INDEX assignments_of_worker ON assignments (worker, status)",
    "CREATE INDEX hits_of_worker ON assignments (worker, hit, status)",
    "CREATE INDEX accepted_by_deadline ON assignments (deadline) WHERE status = 'accepted'",
    "CREATE INDEX submitted_by_approval ON assignments (auto_approval) WHERE status = 'submitted'",
    """
    CREATE TABLE answers (
        assignment TEXT PRIMARY KEY REFERENCES assignments (id),
        fields TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TRIGGER answer_of_accepted BEFORE INSERT ON answers
    WHEN (SELECT status FROM assignments WHERE id = NEW.assignment) IS NOT 'accepted'
    BEGIN SELECT RAISE(ABORT, 'only an accepted assignment takes an answer'); END
    """,
    """
    CREATE TRIGGER answer_removed BEFORE DELETE ON answers
    BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END
    """,
    """
    CREATE TRIGGER assignment_begins BEFORE INSERT ON assignments
    WHEN NEW.status <> 'accepted'
    BEGIN SELECT RAISE(ABORT, 'an assignment begins as accepted'); END
    """,
    """
    CREATE TRIGGER assignment_steps BEFORE UPDATE OF status ON assignments
    WHEN NOT (
        (OLD.status = 'accepted' AND NEW.status IN ('returned', 'abandoned'))
        OR (OLD.status = 'accepted' AND NEW.status = 'submitted'
            AND EXISTS (SELECT 1 FROM answers WHERE assignment = NEW.id))
        OR (OLD.status = 'submitted' AND NEW.status IN ('approved', 'rejected'))
        OR (OLD.status = 'rejected' AND NEW.status = 'approved')
    )
    BEGIN SELECT RAISE(ABORT, 'no such step in the life of an assignment'); END
    """,
    """
    CREATE TRIGGER assignment_added AFTER INSERT ON assignments
    BEGIN UPDATE hits SET pending = pending + 1 WHERE id = NEW.hit; END
    """,
    """
    CREATE TRIGGER assignment_moved AFTER UPDATE OF status ON assignments
    BEGIN
        UPDATE hits SET
            pending = pending - (OLD.status = 'accepted'),
            submitted = submitted + (NEW.status = 'submitted') - (OLD.status = 'submitted'),
            completed = completed + (NEW.status IN ('approved', 'rejected')) - (OLD.status = 'rejected')
        WHERE id = NEW.hit;
    END
    """,
    """
    CREATE TABLE bonuses (
        number INTEGER PRIMARY KEY,
        worker TEXT NOT NULL REFERENCES workers (id),
        assignment TEXT NOT NULL REFERENCES assignments (id),
        amount INTEGER NOT NULL CHECK (amount > 0),
        reason TEXT NOT NULL,
        created INTEGER NOT NULL
    )
    """,
    "CREATE INDEX bonuses_of_assignment ON bonuses (assignment)",
    "CREATE INDEX bonuses_of_worker ON bonuses (worker)",
)

QUALIFICATIONS = (
    """
    CREATE TABLE qualification_types (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        keywords TEXT NOT NULL,
        active INTEGER NOT NULL CHECK (active IN (0, 1)),
        created INTEGER NOT NULL,
        retry_delay INTEGER,
        test TEXT,
        answer_key TEXT,
        test_duration INTEGER,
        auto_granted INTEGER NOT NULL DEFAULT 0 CHECK (auto_granted IN (0, 1)),
        auto_granted_value INTEGER NOT NULL DEFAULT 1,
        deleted INTEGER,
        CHECK ((test IS NULL) = (test_duration IS NULL)),
        CHECK (test IS NOT NULL OR answer_key IS NULL),
        CHECK (test IS NULL OR NOT auto_granted)
    )
    """,
    "CREATE UNIQUE INDEX living_qualification_types ON qualification_types (name) WHERE deleted IS NULL",
    """
    CREATE TABLE qualifications (
        number INTEGER PRIMARY KEY,
        type TEXT NOT NULL REFERENCES qualification_types (id),
        worker TEXT NOT NULL REFERENCES workers (id),
        value INTEGER,
        granted INTEGER NOT NULL,
        status TEXT NOT NULL DEFAULT 'Granted' CHECK (status IN ('Granted', 'Revoked')),
        UNIQUE (type, worker)
    )
    """,
    """
    CREATE TABLE qualification_requests (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL REFERENCES qualification_types (id),
        worker TEXT NOT NULL REFERENCES workers (id),
        status TEXT NOT NULL CHECK (status IN ('started', 'pending', 'granted', 'rejected')),
        started INTEGER NOT NULL,
        submitted INTEGER,
        test TEXT,
        answers TEXT,
        value INTEGER,
        reason TEXT
    )
    """,
    """
    CREATE UNIQUE INDEX one_open_request ON qualification_requests (type, worker)
    WHERE status IN ('started', 'pending')
    """,
    "CREATE INDEX requests_of_worker ON qualification_requests (worker, type, number)",
)

CHANGES = (
    "CREATE TABLE changes (number INTEGER NOT NULL)",  # how many durable changes there were (`hits.server.store.mark`)
    "INSERT INTO changes VALUES (0)",
)

# Whoever sent a page may change it for a while, as long as no requester has seen it; what was sent before is kept.
SECOND_THOUGHTS = (
    """
    CREATE TABLE earlier_answers (
        number INTEGER PRIMARY KEY,
        assignment TEXT NOT NULL REFERENCES assignments (id),
        fields TEXT NOT NULL,
        replaced INTEGER NOT NULL
    )
    """,
    """
    CREATE TRIGGER answer_changed BEFORE UPDATE ON answers
    WHEN NEW.assignment <> OLD.assignment
        OR NOT EXISTS (SELECT 1 FROM assignments WHERE id = OLD.assignment AND status = 'submitted' AND seen IS NULL)
        OR NOT EXISTS (SELECT 1 FROM earlier_answers WHERE assignment = OLD.assignment AND fields = OLD.fields)
    BEGIN SELECT RAISE(ABORT, 'an answer is never changed, unless it is kept and nobody has seen it'); END
    """,
    """
    CREATE TRIGGER earlier_answer_changed BEFORE UPDATE ON earlier_answers
    BEGIN SELECT RAISE(ABORT, 'an answer is never changed'); END
    """,
    """
    CREATE TRIGGER earlier_answer_removed BEFORE DELETE ON earlier_answers
    BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END
    """,
)

TRAINED = (
    """
    CREATE TABLE trained (
        worker TEXT NOT NULL REFERENCES workers (id),
        batch TEXT NOT NULL,
        finished INTEGER NOT NULL,
        PRIMARY KEY (worker, batch)
    ) WITHOUT ROWID
    """,
)

POLICIES = (
    """
    CREATE TABLE policies (
        hit TEXT NOT NULL REFERENCES hits (id),
        level TEXT NOT NULL CHECK (level IN ('Assignment', 'HIT')),
        request TEXT NOT NULL,
        PRIMARY KEY (hit, level)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE policy_results (
        number INTEGER PRIMARY KEY,
        hit TEXT NOT NULL REFERENCES hits (id),
        level TEXT NOT NULL,
        subject TEXT NOT NULL,
        subject_type TEXT NOT NULL,
        question TEXT,
        key TEXT NOT NULL,
        value TEXT NOT NULL
    )
    """,
    "CREATE INDEX policy_results_of_hit ON policy_results (hit, number)",
    """
    CREATE TABLE policy_actions (
        number INTEGER PRIMARY KEY,
        hit TEXT NOT NULL REFERENCES hits (id),
        level TEXT NOT NULL,
        name TEXT NOT NULL,
        target TEXT NOT NULL,
        target_type TEXT NOT NULL,
        status TEXT NOT NULL,
        completed INTEGER NOT NULL,
        result TEXT NOT NULL
    )
    """,
    "CREATE INDEX policy_actions_of_hit ON policy_actions (hit, number)",
)

STATEMENTS = (*PEOPLE, *HITS, *ASSIGNMENTS, *QUALIFICATIONS, *CHANGES, *SECOND_THOUGHTS, *TRAINED, *POLICIES)
