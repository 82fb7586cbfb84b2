"""Review policies through the client: work is scored, approved, rejected, and hits are extended by themselves."""

from typing import TYPE_CHECKING, Any

import pytest
from requester import create, refused

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any

KNOWN, PLURALITY = "ScoreMyKnownAnswers/2011-09-01", "SimplePlurality/2011-09-01"
EXTEND = {"ExtendMaximumAssignments": "3", "ExtendMinimumTimeInSeconds": "3600"}


def policy(
    name: str, *, key: dict[str, list[str]] | None = None, questions: tuple[str, ...] = (), **values: str
) -> Any:
    parameters: list[dict[str, Any]] = [{"Key": name, "Values": [value]} for name, value in values.items()]
    if key:
        entries = [{"Key": question, "Values": answers} for question, answers in key.items()]
        parameters.append({"Key": "AnswerKey", "MapEntries": entries})
    if questions:
        parameters.append({"Key": "QuestionIds", "Values": list(questions)})
    return {"PolicyName": name, "Parameters": parameters}


def submit(market: LocalMarket, hit: str, name: str, **answers: str) -> str:
    worker = market.worker(name)
    assignment = market.store.work.accept(worker, hit, market.now)
    return str(market.store.work.submit(assignment.id, worker, answers, market.now).status)


def found(report: Any, key: str) -> list[tuple[str | None, str]]:
    return [(each.get("QuestionId"), each["Value"]) for each in report["ReviewResults"] if each["Key"] == key]


def test_known_answers_approve_reject_and_extend(client: Any, market: LocalMarket) -> None:
    review = policy(
        KNOWN,
        key={"q1": ["a"], "q2": ["x", "y"]},
        ApproveIfKnownAnswerScoreIsAtLeast="100",
        RejectIfKnownAnswerScoreIsLessThan="50",
        RejectReason="Two wrong",
        ExtendIfKnownAnswerScoreIsLessThan="50",
        **EXTEND,
    )
    hit = create(client, market, AssignmentReviewPolicy=review, MaxAssignments=2)
    assert submit(market, hit, "Ada", q1="a", q2="y|x", other="1") == "approved"
    assert submit(market, hit, "Bert", q1="b", q2="x") == "rejected"
    assert client.get_hit(HITId=hit)["HIT"]["MaxAssignments"] == 3
    assert submit(market, hit, "Cem", q1="a", q2="x") == "submitted"
    answer = client.list_review_policy_results_for_hit(HITId=hit)
    assert answer["AssignmentReviewPolicy"]["PolicyName"] == KNOWN
    report = answer["AssignmentReviewReport"]
    assert found(report, "KnownAnswerScore") == [(None, "100"), (None, "0"), (None, "50")]
    assert found(report, "KnownAnswerCorrect")[:2] == [("q1", "1"), ("q2", "1")]
    actions = [(each["ActionName"], each["Status"]) for each in report["ReviewActions"]]
    assert actions == [("approve", "Succeeded"), ("reject", "Succeeded"), ("extend", "Succeeded")]
    rejected = client.list_assignments_for_hit(HITId=hit, AssignmentStatuses=["Rejected"])["Assignments"]
    assert [each["RequesterFeedback"] for each in rejected] == ["Two wrong"]
    assert "HITReviewReport" not in answer


def test_plurality_scores_a_complete_hit(client: Any, market: LocalMarket) -> None:
    review = policy(
        PLURALITY,
        questions=("q1", "q2"),
        QuestionAgreementThreshold="60",
        ApproveIfWorkerAgreementScoreIsAtLeast="100",
        RejectIfWorkerAgreementScoreIsLessThan="50",
        RejectReason="Alone",
    )
    hit = create(client, market, HITReviewPolicy=review, MaxAssignments=3)
    assert submit(market, hit, "Ada", q1="a", q2="x") == "submitted"
    assert submit(market, hit, "Bert", q1="a", q2="y") == "submitted"
    report = client.list_review_policy_results_for_hit(HITId=hit)["HITReviewReport"]
    assert report["ReviewResults"] == []  # the hit is not complete
    assert submit(market, hit, "Cem", q1="b", q2="z") == "rejected"
    report = client.list_review_policy_results_for_hit(HITId=hit, PolicyLevels=["HIT"])["HITReviewReport"]
    assert found(report, "QuestionAgreementScore") == [("q1", "66"), ("q2", "0")]
    assert found(report, "AgreedAnswer") == [("q1", "a")]
    assert found(report, "HITAgreementScore") == [(None, "50")]
    assert found(report, "WorkerAgreementScore") == [(None, "100"), (None, "100"), (None, "0")]
    statuses = [
        each["AssignmentStatus"] for each in client.list_assignments_for_hit(HITId=hit)["Assignments"]
    ]
    assert statuses == ["Approved", "Approved", "Rejected"]
    none = client.list_review_policy_results_for_hit(HITId=hit, PolicyLevels=["Assignment"])
    assert set(none) == {"HITId", "ResponseMetadata"}


def test_a_hit_without_agreement_gets_more_places_up_to_a_maximum(client: Any, market: LocalMarket) -> None:
    review = policy(
        PLURALITY,
        questions=("q1",),
        QuestionAgreementThreshold="60",
        ExtendIfHITAgreementScoreIsLessThan="100",
        **EXTEND,
    )
    hit = create(client, market, HITReviewPolicy=review, MaxAssignments=2, LifetimeInSeconds=60)
    for name in "abc":
        submit(market, hit, name, q1=name)
    record = client.get_hit(HITId=hit)["HIT"]
    assert (record["MaxAssignments"], record["Expiration"].timestamp() - market.now) == (3, 3600)
    actions = client.list_review_policy_results_for_hit(HITId=hit)["HITReviewReport"]["ReviewActions"]
    assert [each["Status"] for each in actions] == ["Succeeded", "Cancelled"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("AssignmentReviewPolicy", policy(PLURALITY, questions=("q",), QuestionAgreementThreshold="50")),
        ("AssignmentReviewPolicy", policy(KNOWN)),
        ("AssignmentReviewPolicy", policy(KNOWN, key={"q": ["a"]}, ApproveIfKnownAnswerScoreIsAtLeast="102")),
        ("AssignmentReviewPolicy", policy(KNOWN, key={"q": ["a"]}, ExtendIfKnownAnswerScoreIsLessThan="50")),
        ("AssignmentReviewPolicy", policy(KNOWN, key={"q": ["a"]}, Nonsense="1")),
        ("HITReviewPolicy", policy("MyOwnPolicy/2011-09-01")),
        ("HITReviewPolicy", policy(PLURALITY, questions=("q",))),
    ],
)
def test_wrong_policies_are_refused(client: Any, market: LocalMarket, member: str, value: Any) -> None:
    code, _ = refused(client.create_hit, **market.request(**{member: value}))
    assert code == "AWS.ParameterValidationFailed"
