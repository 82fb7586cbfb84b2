import pytest

from hits.batch.question_xml import SCHEMAS, XmlError
from hits.server.store.answer_key import read_answer_key, score_test

QUESTIONS = """
<Question><QuestionIdentifier>nextmove</QuestionIdentifier>
  <AnswerOption><SelectionIdentifier>D</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption>
</Question>
<Question><QuestionIdentifier>fruit</QuestionIdentifier>
  <AnswerOption><SelectionIdentifier>apples</SelectionIdentifier><SelectionIdentifier>pears</SelectionIdentifier>
    <AnswerScore>10</AnswerScore></AnswerOption>
  <AnswerOption><SelectionIdentifier>apples</SelectionIdentifier><AnswerScore>4</AnswerScore></AnswerOption>
  <DefaultScore>-2</DefaultScore>
</Question>
"""
RANGES = """
<RangeMapping>
  <SummedScoreRange><InclusiveLowerBound>5</InclusiveLowerBound><InclusiveUpperBound>9</InclusiveUpperBound>
    <QualificationValue>50</QualificationValue></SummedScoreRange>
  <SummedScoreRange><InclusiveLowerBound>10</InclusiveLowerBound><InclusiveUpperBound>15</InclusiveUpperBound>
    <QualificationValue>100</QualificationValue></SummedScoreRange>
  <OutOfRangeQualificationValue>1</OutOfRangeQualificationValue>
</RangeMapping>
"""
PERCENT = "<PercentageMapping><MaximumSummedScore>15</MaximumSummedScore></PercentageMapping>"
SCALE = "<ScaleMapping><SummedScoreMultiplier>1.5</SummedScoreMultiplier></ScaleMapping>"


def key(mapping: str = "", questions: str = QUESTIONS) -> str:
    wrapped = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    return f'<AnswerKey xmlns="{SCHEMAS}/2005-10-01/AnswerKey.xsd">{questions}{wrapped}</AnswerKey>'


CASES = [  # answers, sum, percentage of 15, times 1.5, by range: worked out by hand
    ({"nextmove": "D", "fruit": "pears|apples"}, 15, 100, 23, 100),
    ({"nextmove": "D", "fruit": "apples"}, 9, 60, 14, 50),
    ({"nextmove": "D", "fruit": "apples|pears|plums"}, 3, 20, 5, 1),
    ({"nextmove": "C", "fruit": "apples|pears"}, 10, 67, 15, 100),
    ({"fruit": "apples"}, 4, 27, 6, 1),
    ({"nextmove": "D"}, 3, 20, 5, 1),
    ({}, -2, -13, -3, 1),
]


@pytest.mark.parametrize(("answers", "total", "percent", "scaled", "ranged"), CASES)
def test_scores(answers: dict[str, str], total: int, percent: int, scaled: int, ranged: int) -> None:
    found = [score_test(key(mapping), answers) for mapping in ("", PERCENT, SCALE, RANGES)]
    assert found == [total, percent, scaled, ranged]


@pytest.mark.parametrize(
    "text",
    [
        "<AnswerKey/>",
        "<Other/>",
        "no XML",
        key("<Guess/>"),
        key(PERCENT + SCALE),
        key(PERCENT.replace("15", "0")),
        key(PERCENT.replace("15", "many")),
        key(PERCENT.replace("15", "NaN")),
        key(SCALE.replace("1.5", "1e999999")),
        key(RANGES.replace("OutOfRangeQualificationValue", "Else")),
        key(RANGES.replace("<QualificationValue>50</QualificationValue>", "")),
        key(questions="<Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption/></Question>"),
        key(questions="<Question/>"),
    ],
)
def test_broken_keys(text: str) -> None:
    with pytest.raises(XmlError):
        read_answer_key(text)
