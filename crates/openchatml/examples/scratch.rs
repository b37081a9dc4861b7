fn main(){
 let t="<|c<||><|fim_middle|><|channel|><|channel|>{{x}}日本語version: 2.2\u{7f}<|start|>";
 let f="openchatml-2.0".parse().unwrap();
 let mut o=openchatml::ReadOptions::default(); o.continues=Some(openchatml::Role::Tool);
 let mut s=openchatml::Stream::new(f,&o).unwrap();
 s.feed(t.as_bytes(),|e|println!("{}",e.to_json()));
 println!("--");
 s.finish(|e|println!("{}",e.to_json()));
 println!("{}", openchatml::render(&openchatml::parse(t,f,&o).document, "json".parse().unwrap(), &Default::default()).unwrap());
}
