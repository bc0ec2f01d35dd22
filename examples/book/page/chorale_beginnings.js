// Beginnings of chorales by Bach: eight quarters of four of those in the test text of examples/studies/bach, in its notation
// (book/chorale_notation.js). No model was trained on them.

export const beginnings = {
  'Test chorale 1':
    `A<95A<95A<95A<95H<74H<74F<74F<74E<55E<55C<74C<74A>92A>92A@:2A@:2` +
    `HA<-HA<-HA<-HA<-JA<.JA<.JA:0JA90JA:2JA:2JA:4JA:4HA95HA95HA95HA95`,
  'Test chorale 13':
    `E@<-E@<-E@<-E@<-HE@9HE@9HE@9HE@9GE@4GE@4GC@4GC>4EA<5EA<5EA<4EA<4` +
    `EA>2EA>2EA>0EA>0CA>/CA>/C@91C@91A@92A@92A>92A>92@=9-@=9-@=9-@=9-`,
  'Test chorale 14':
    `>952>952>974>974>995>995>997>997@=75@=75@=74@=74A>92A>92A>92A>92` +
    `A>90A>90A>9/A>9/C@:-C@:-C@:+C@:+EA<)EA<)EA<+EA<+EA>)EA>)EC@(EC@(`,
  'Test chorale 20':
    `JB92JB92JB;2JB;2I@=-I@=-IB=-IB=-GC>/GC>/GB>/GB>/E@@1E@@1E@91E@91` +
    `C>92C>92B>92B>92G>9+G>9+G>9-G>9-G>7/G>7/G>71G>71E>62E>62E>62E>62`,
};
