"""The models that rank systems, one per file; `hits.ranking.names` says what each is called.

A model is fitted to `hits.ranking.data.Comparisons` and gives each system a score. To add one:

1. Write ``hits/ranking/models/my_model.py`` with a class and a factory that takes `rypt.options.Options`::

       @dataclass(frozen=True, slots=True)
       class MyModel:
           strength: float = 1.0
           name: str = "my-model"

           def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
               check_fit(comparisons)
               wins, ties = comparisons.counts()
               scores = wins.sum(axis=1) * self.strength
               return Fitted(comparisons.systems, scores, sign(self.name, comparisons, strength=self.strength))

       def make_my_model(options: Options) -> MyModel:
           return MyModel(options.positive("strength", 1.0))

2. Add ``"my-model": "my_model:make_my_model"`` to ``MODELS`` in `hits.ranking.names`.

``rypt rank FILE -m my-model:strength=2`` and ``hits.rank(FILE, "my-model", options={"strength": "2"})`` then work,
with rank ranges, clusters and pictures; the tests of `hits.ranking.model` run for every name. Another package names its
factory in the entry-point group ``rypt.ranking_models`` instead: ``my-model = "package.module:make_my_model"``.
"""
