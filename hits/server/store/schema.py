"""The tables of a market file.

Columns in capitals are members of the protocol under the protocol's names, so rows are answers to a requester as they
are; the others are the market's own. Times are whole seconds since 1970, money is whole cents (``Reward`` is text, as
the protocol has it).

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
        WorkerId TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL CHECK (name <> ''),
        source TEXT NOT NULL,  -- 'invitation', or 'link' for the shared link
        external_id TEXT NOT NULL,  -- the name invited, or the recruiting service's id
        created INTEGER NOT NULL,
        consented INTEGER,
        country TEXT,
        blocked TEXT,  -- the reason
        UNIQUE (source, external_id)
    )
    """,
    """
    CREATE TABLE invitations (
        token_hash TEXT PRIMARY KEY,
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        created INTEGER NOT NULL,
        revoked INTEGER
    ) WITHOUT ROWID
    """,
    "CREATE INDEX invitations_of_worker ON invitations (WorkerId)",
    """
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        Subject TEXT NOT NULL,
        MessageText TEXT NOT NULL,
        created INTEGER NOT NULL,
        seen INTEGER
    )
    """,
    "CREATE INDEX messages_of_worker ON messages (WorkerId, number)",
    """
    CREATE TABLE trained (
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        batch TEXT NOT NULL,
        finished INTEGER NOT NULL,
        PRIMARY KEY (WorkerId, batch)
    ) WITHOUT ROWID
    """,
)

HITS = (
    """
    CREATE TABLE hit_types (
        number INTEGER PRIMARY KEY,
        HITTypeId TEXT NOT NULL UNIQUE,
        Title TEXT NOT NULL,
        Description TEXT NOT NULL,
        Keywords TEXT NOT NULL,
        Reward TEXT NOT NULL,
        AssignmentDurationInSeconds INTEGER NOT NULL CHECK (AssignmentDurationInSeconds > 0),
        AutoApprovalDelayInSeconds INTEGER NOT NULL CHECK (AutoApprovalDelayInSeconds >= 0),
        QualificationRequirements TEXT NOT NULL,  -- JSON
        UNIQUE (Title, Description, Keywords, Reward, AssignmentDurationInSeconds, AutoApprovalDelayInSeconds,
            QualificationRequirements)
    )
    """,
    """
    CREATE TABLE hits (
        number INTEGER PRIMARY KEY,
        HITId TEXT NOT NULL UNIQUE,
        HITTypeId TEXT NOT NULL REFERENCES hit_types (HITTypeId),
        RequesterAnnotation TEXT,
        batch TEXT NOT NULL,  -- of RequesterAnnotation, empty for hits of other programs
        MaxAssignments INTEGER NOT NULL CHECK (MaxAssignments > 0),
        CreationTime INTEGER NOT NULL,
        Expiration INTEGER NOT NULL,
        paused INTEGER,  -- the seconds that were left when it was paused
        disposed INTEGER,
        NumberOfAssignmentsPending INTEGER NOT NULL DEFAULT 0 CHECK (NumberOfAssignmentsPending >= 0),
        submitted INTEGER NOT NULL DEFAULT 0 CHECK (submitted >= 0),  -- and not reviewed
        NumberOfAssignmentsCompleted INTEGER NOT NULL DEFAULT 0 CHECK (NumberOfAssignmentsCompleted >= 0),
        NumberOfAssignmentsAvailable INTEGER AS (
            MaxAssignments - NumberOfAssignmentsPending - submitted - NumberOfAssignmentsCompleted
        ) STORED CHECK (NumberOfAssignmentsAvailable >= 0),
        Question TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX open_hits ON hits (number, Expiration, HITTypeId, batch, HITId)
    WHERE disposed IS NULL AND NumberOfAssignmentsAvailable > 0
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
        AssignmentId TEXT NOT NULL UNIQUE,
        HITId TEXT NOT NULL REFERENCES hits (HITId),
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        AssignmentStatus TEXT NOT NULL DEFAULT 'Accepted' CHECK (
            AssignmentStatus IN ('Accepted', 'Returned', 'Abandoned', 'Submitted', 'Approved', 'Rejected')
        ),
        reward INTEGER NOT NULL CHECK (reward >= 0),  -- in cents, as it was promised
        AcceptTime INTEGER NOT NULL,
        Deadline INTEGER NOT NULL,
        SubmitTime INTEGER,
        AutoApprovalTime INTEGER,
        ApprovalTime INTEGER,
        RejectionTime INTEGER,
        RequesterFeedback TEXT,
        CHECK ((AssignmentStatus IN ('Submitted', 'Approved', 'Rejected')) = (SubmitTime IS NOT NULL)),
        CHECK ((SubmitTime IS NULL) = (AutoApprovalTime IS NULL)),
        CHECK ((AssignmentStatus = 'Approved') = (ApprovalTime IS NOT NULL)),
        CHECK (AssignmentStatus <> 'Rejected' OR RejectionTime IS NOT NULL)
    )
    """,
    """
    CREATE UNIQUE INDEX one_assignment_a_worker ON assignments (HITId, WorkerId)
    WHERE AssignmentStatus NOT IN ('Returned', 'Abandoned')
    """,
    "CREATE INDEX assignments_of_hit ON assignments (HITId, number)",
    "CREATE INDEX assignments_of_worker ON assignments (WorkerId, AssignmentStatus)",
    "CREATE INDEX hits_of_worker ON assignments (WorkerId, HITId, AssignmentStatus)",
    "CREATE INDEX accepted_by_deadline ON assignments (Deadline) WHERE AssignmentStatus = 'Accepted'",
    "CREATE INDEX submitted_by_approval ON assignments (AutoApprovalTime) WHERE AssignmentStatus = 'Submitted'",
    """
    CREATE TABLE answers (
        AssignmentId TEXT PRIMARY KEY REFERENCES assignments (AssignmentId),
        fields TEXT NOT NULL  -- JSON, form field → value
    ) WITHOUT ROWID
    """,
    """
    CREATE TRIGGER answer_of_accepted BEFORE INSERT ON answers
    WHEN (SELECT AssignmentStatus FROM assignments WHERE AssignmentId = NEW.AssignmentId) IS NOT 'Accepted'
    BEGIN SELECT RAISE(ABORT, 'only an accepted assignment takes an answer'); END
    """,
    """
    CREATE TRIGGER answer_changed BEFORE UPDATE ON answers
    BEGIN SELECT RAISE(ABORT, 'an answer is never changed'); END
    """,
    """
    CREATE TRIGGER answer_removed BEFORE DELETE ON answers
    BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END
    """,
    """
    CREATE TRIGGER assignment_begins BEFORE INSERT ON assignments
    WHEN NEW.AssignmentStatus <> 'Accepted'
    BEGIN SELECT RAISE(ABORT, 'an assignment begins as accepted'); END
    """,
    """
    CREATE TRIGGER assignment_steps BEFORE UPDATE OF AssignmentStatus ON assignments
    WHEN NOT (
        (OLD.AssignmentStatus = 'Accepted' AND NEW.AssignmentStatus IN ('Returned', 'Abandoned'))
        OR (OLD.AssignmentStatus = 'Accepted' AND NEW.AssignmentStatus = 'Submitted'
            AND EXISTS (SELECT 1 FROM answers WHERE AssignmentId = NEW.AssignmentId))
        OR (OLD.AssignmentStatus = 'Submitted' AND NEW.AssignmentStatus IN ('Approved', 'Rejected'))
        OR (OLD.AssignmentStatus = 'Rejected' AND NEW.AssignmentStatus = 'Approved')
    )
    BEGIN SELECT RAISE(ABORT, 'no such step in the life of an assignment'); END
    """,
    """
    CREATE TRIGGER assignment_added AFTER INSERT ON assignments
    BEGIN
        UPDATE hits SET NumberOfAssignmentsPending = NumberOfAssignmentsPending + 1 WHERE HITId = NEW.HITId;
    END
    """,
    """
    CREATE TRIGGER assignment_moved AFTER UPDATE OF AssignmentStatus ON assignments
    BEGIN
        UPDATE hits SET
            NumberOfAssignmentsPending = NumberOfAssignmentsPending - (OLD.AssignmentStatus = 'Accepted'),
            submitted = submitted + (NEW.AssignmentStatus = 'Submitted') - (OLD.AssignmentStatus = 'Submitted'),
            NumberOfAssignmentsCompleted = NumberOfAssignmentsCompleted
                + (NEW.AssignmentStatus IN ('Approved', 'Rejected')) - (OLD.AssignmentStatus = 'Rejected')
        WHERE HITId = NEW.HITId;
    END
    """,
    """
    CREATE TABLE bonuses (
        number INTEGER PRIMARY KEY,
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        AssignmentId TEXT NOT NULL REFERENCES assignments (AssignmentId),
        amount INTEGER NOT NULL CHECK (amount > 0),
        Reason TEXT NOT NULL,
        GrantTime INTEGER NOT NULL
    )
    """,
    "CREATE INDEX bonuses_of_assignment ON bonuses (AssignmentId)",
    "CREATE INDEX bonuses_of_worker ON bonuses (WorkerId)",
)

QUALIFICATIONS = (
    """
    CREATE TABLE qualification_types (
        number INTEGER PRIMARY KEY,
        QualificationTypeId TEXT NOT NULL UNIQUE,
        Name TEXT NOT NULL UNIQUE,
        Description TEXT NOT NULL,
        Keywords TEXT,
        QualificationTypeStatus TEXT NOT NULL CHECK (QualificationTypeStatus IN ('Active', 'Inactive')),
        CreationTime INTEGER NOT NULL,
        RetryDelayInSeconds INTEGER,
        Test TEXT,
        AnswerKey TEXT,
        TestDurationInSeconds INTEGER,
        AutoGranted INTEGER NOT NULL CHECK (AutoGranted IN (0, 1)),
        AutoGrantedValue INTEGER,
        CHECK ((Test IS NULL) = (AnswerKey IS NULL) AND (Test IS NULL) = (TestDurationInSeconds IS NULL)),
        CHECK (Test IS NULL OR NOT AutoGranted)
    )
    """,
    """
    CREATE TABLE qualifications (
        QualificationTypeId TEXT NOT NULL REFERENCES qualification_types (QualificationTypeId),
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        IntegerValue INTEGER NOT NULL,
        GrantTime INTEGER NOT NULL,
        PRIMARY KEY (QualificationTypeId, WorkerId)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE test_tries (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        QualificationTypeId TEXT NOT NULL REFERENCES qualification_types (QualificationTypeId),
        WorkerId TEXT NOT NULL REFERENCES workers (WorkerId),
        started INTEGER NOT NULL,
        submitted INTEGER,
        answers TEXT,  -- JSON
        value INTEGER,
        CHECK ((submitted IS NULL) = (answers IS NULL) AND (submitted IS NULL) = (value IS NULL))
    )
    """,
    "CREATE INDEX test_tries_of_worker ON test_tries (WorkerId, QualificationTypeId, number)",
)

STATEMENTS = (*PEOPLE, *HITS, *ASSIGNMENTS, *QUALIFICATIONS)
